// What the badge of the network in the header says. Apart from the words of its page, because every page has it.

export const badgeWords = {
    unknown: 'Network',
    networks: { local: 'Local', devnet: 'Devnet', mainnet: 'Mainnet' } as Readonly<Record<string, string>>,
    states: { degraded: 'problems', stale: 'behind' } as Readonly<Record<string, string>>,
    offline: 'no connection',
    connecting: 'connecting',
} as const;
