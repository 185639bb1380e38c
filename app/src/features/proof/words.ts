// What proof pages, links to them and badges say.

import type { KnownNetwork } from '../../shared/proofLink';
import type { GroupName, GroupState, Report } from './report';
import type { NodeSource } from './node';

const NETWORKS: Record<KnownNetwork, string> = { mainnet: 'Solana mainnet', devnet: 'Solana devnet' };

export const words = {
    title: 'Proof of an execution',
    reading: 'This browser reads the chain …',
    checking: 'This browser checks the content …',

    verdict: { verified: 'Verified', partly: 'Verified, except the content', failed: 'NOT verified' },
    verdictByLink: 'Verified, if you trust the node of the link',
    paid: (amount: string) => `The creator signed this result, and ${amount} USDC was paid for it.`,
    paidUnseen: (amount: string) =>
        `The creator signed a result, and ${amount} USDC was paid for it. The result itself was not found here, so it was not compared with what was signed.`,
    refunded: (amount: string) => `There is no result, and ${amount} USDC went back to the caller.`,
    overturned: (amount: string) =>
        `The creator signed this result and was paid. A dispute about it was upheld, and the caller got ${amount} USDC back.`,
    disputed: (amount: string) =>
        `The creator signed this result, and ${amount} USDC was paid for it. A dispute about it is open.`,
    failed: (groups: readonly GroupName[]) =>
        `Do not rely on this: ${list(groups.map((name) => words.groups[name].toLowerCase()))} ${groups.length === 1 ? 'does' : 'do'} not hold.`,

    groups: { content: 'Content', signature: 'Signature', chain: 'Chain', money: 'Money' } as Record<GroupName, string>,
    meaning: {
        content: 'The bytes of the result have the hash that was signed.',
        signature: 'The key that the creator registered signed this hash.',
        chain: 'The program has the record of this execution, and a transaction that ended it.',
        money: 'The USDC moved as the record says.',
    } as Record<GroupName, string>,
    states: { passed: 'holds', failed: 'FAILS', unchecked: 'not checked', none: 'nothing to check' } as Record<
        GroupState,
        string
    >,
    checks: (count: number, failed: number) =>
        failed === 0 ? `${count} checks` : `${count} checks, ${failed} not passed`,
    noResult: 'The call was refunded, so there is no result.',
    aboutChecks:
        'No service states anything here. The checks compare the accounts of the program, the transactions and the content with one another.',

    facts: 'The execution',
    record: 'Record',
    agent: 'Agent',
    creator: 'Creator',
    caller: 'Caller',
    price: 'Price',
    opened: 'Opened',
    ended: 'Ended',
    result: 'Result',
    executionId: 'Execution id',
    settledBy: 'Transaction that ended it',
    closedBy: 'Transaction that closed the record',
    notText: 'The result is not text, so it is not shown.',

    readFrom: (node: string) => `Read from the Solana node ${node}`,
    node: 'Node that was asked',
    network: (known: KnownNetwork | null) =>
        known === null
            ? 'The node serves neither Solana mainnet nor devnet, but another network, such as a local one. Its money may have no value.'
            : known === 'devnet'
              ? 'The node says that it serves Solana devnet, where money has no value.'
              : 'The node says that it serves Solana mainnet.',
    sources: {
        site: 'This site names it.',
        public: 'It is the public node of the cluster, built into this page.',
        reader: 'You typed it.',
        link: 'The link that you opened names it, and you allowed it. Who made the link may run this node. A node can lie about the chain.',
    } as Record<NodeSource, string>,
    trust: 'What you trust here',
    trustNode: 'The node above. It could lie about the chain: ask a second one that you know.',
    trustProgram: 'The address of the program, which is built into this page:',
    trustCode: 'The code of this page, and the Ed25519 and SHA-256 of your browser.',
    trustNone: 'Anybody can repeat all of this without this page. The rules are in docs/specification.md.',

    otherNode: 'Ask another node',
    chooseNode: 'Choose a Solana node',
    whyChoose:
        'A proof is read from the chain, and this page knows no node to ask. Choose one that you trust: it could lie.',
    publicNode: (network: KnownNetwork) => `${NETWORKS[network]}, public node`,
    nodeUrl: 'Address of a node',
    nodeHint: 'Begins with https://, or with http:// on this machine.',
    nodeWrong: 'Write an address that begins with https://, or with http://127.0.0.1 or http://localhost.',
    ask: 'Ask this node',
    linkNames: 'The link names a node that this page does not know',
    linkWarning:
        'Nothing was asked yet. Who made the link may run this node, and a node can show a record that does not exist. Ask it only if you know whose it is.',
    askLinked: 'Ask the node of the link',

    noAnswer: 'The node does not answer',
    noAnswerText: (node: string, why: string) =>
        `Nothing was checked, because ${node} gave no usable answer (${why}). Try again, or ask another node.`,
    tryAgain: 'Try again',
    notFound: 'This node knows no such record',
    notFoundText:
        'There is no execution record of the marketplace at this address, and no transaction that closed one. It may be on another network, or the node may keep too few old transactions.',
    open: 'The call is still open',
    openText:
        'The price is in the escrow, and there is no result yet. There is something to prove when the call has ended.',

    contentHere: 'Content',
    contentMissing: (why: string) =>
        `The content was not found: ${why}. A site keeps content for a limited time. If you have the result as a file, or know another place that has it, it can be checked.`,
    contentOther: 'Take the content from another place',
    file: 'A file with the result',
    fileHint: 'It stays in this browser.',
    gateway: 'An IPFS gateway',
    gatewayHint: 'Such as https://ipfs.example.com. It can only send what has this hash, or the check fails.',
    gatewayWrong: 'Write an address that begins with https://.',
    takeFrom: 'Take it from there',

    badge: 'Badge for your site',
    badgeText: 'It shows the figures of this agent with the slot that they are of, and leads to its public page.',
    badgeAlt: (name: string) => `Record of ${name} on crtx`,
    badgeOpen: 'Open the badge',
    badgeHtml: 'HTML',
    badgeMarkdown: 'Markdown',
} as const;

const list = (names: readonly string[]): string =>
    names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

export const verdictTitle = (verdict: Report['verdict'], source: NodeSource): string =>
    verdict === 'verified' && source === 'link' ? words.verdictByLink : words.verdict[verdict];
