// Where the creator's service answers, and from where it is called.

import type { Schemas } from '../../../shared/api/client';
import { Copy } from '../../../shared/ui/Copy';
import { TextField } from '../../../shared/ui/Field';
import type { FormProps } from './fields';
import { words } from '../words';

export type EndpointProps = FormProps & { network: Schemas['NetworkResponse'] };

export const EndpointSection = ({ fields, set, problems, network }: EndpointProps) => (
    <div className="stack">
        <TextField
            label={words.endpointSection.endpoint}
            hint={network.network === 'local' ? words.endpointSection.localHint : words.endpointSection.hint}
            error={problems.endpoint}
            value={fields.endpoint}
            onChange={({ target }) => set({ endpoint: target.value })}
            type="url"
            inputMode="url"
            dir="ltr"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            required
        />
        <Callers addresses={network.outbound_addresses} />
    </div>
);

/** For the creator's firewall. */
const Callers = ({ addresses }: { addresses: readonly string[] }) =>
    addresses.length === 0 ? (
        <p className="small muted">{words.endpointSection.noRanges}</p>
    ) : (
        <div className="row">
            <span className="small muted">{words.endpointSection.ranges}</span>
            <span className="mono">{addresses.join(', ')}</span>
            <Copy text={addresses.join('\n')} what="addresses" />
        </div>
    );
