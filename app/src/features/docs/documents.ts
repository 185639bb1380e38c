// The documents of the repository that are pages here. They are read when they are opened.

import { part } from '../../shared/part';
import { words } from './words';

export type DocumentId = 'buy' | 'sell' | 'verify' | 'limits' | 'errors';

type Entry = { readonly file: string; readonly load: () => Promise<{ default: string }> };

/** In the order of the navigation. Each file is also named in `scripts/stamp.mjs` and `crates/dashboard/build/sources.rs`. */
const DOCUMENTS: Readonly<Record<DocumentId, Entry>> = {
    buy: { file: 'quickstart-buy.md', load: () => part(() => import('../../../../docs/quickstart-buy.md?raw')) },
    sell: { file: 'quickstart-sell.md', load: () => part(() => import('../../../../docs/quickstart-sell.md?raw')) },
    verify: { file: 'verify.md', load: () => part(() => import('../../../../docs/verify.md?raw')) },
    limits: { file: 'limits.md', load: () => part(() => import('../../../../docs/limits.md?raw')) },
    errors: { file: 'errors.md', load: () => part(() => import('../../../../docs/errors.md?raw')) },
};

export const DOCUMENT_IDS = Object.keys(DOCUMENTS) as DocumentId[];

export const isDocument = (id: string): id is DocumentId => Object.hasOwn(DOCUMENTS, id);

export const titleOf = (id: DocumentId): string => words.documents[id];

export const loadDocument = async (id: DocumentId): Promise<string> => (await DOCUMENTS[id].load()).default;

export type Target =
    | { readonly kind: 'document'; readonly id: DocumentId; readonly hash: string }
    | { readonly kind: 'api' }
    | { readonly kind: 'here'; readonly hash: string }
    | { readonly kind: 'elsewhere'; readonly url: string };

/** Where a link of a document leads. `null`: to a file that is in the repository alone. */
export function targetOf(href: string): Target | null {
    if (href.startsWith('https://')) return { kind: 'elsewhere', url: href };
    const [path = '', hash = ''] = href.split('#', 2);
    if (path === '') return { kind: 'here', hash };
    if (path === 'api.md') return { kind: 'api' };
    const id = DOCUMENT_IDS.find((one) => DOCUMENTS[one].file === path);
    return id === undefined ? null : { kind: 'document', id, hash };
}
