// The report of the last audit, as the service stores it. The API describes it only as an object, so every member is
// checked before it is shown.

export type AuditCheck = {
    readonly name: string;
    readonly compared: number;
    readonly faults: number;
    /** What proves it is not there yet. */
    readonly unproven: number;
    readonly isComplete: boolean;
};

export type AuditReport = {
    readonly isOk: boolean;
    readonly isComplete: boolean;
    readonly at: string | null;
    readonly slot: number;
    readonly source: string;
    readonly witness: string | null;
    readonly checks: readonly AuditCheck[];
    readonly faults: readonly string[];
};

const CHECKS: Record<string, string> = {
    node: 'Answers of the node',
    accounts: 'Every account of the chain is in the index',
    rows: 'Every open entry of the index has its account',
    witness: 'A second node sees the same accounts',
    closed: 'Closed entries are what their closing says',
    closings: 'Closings, read again from the chain',
    documents: 'Documents have the hash that their listing names',
    results: 'Results have the hash that was signed',
    listings: 'Totals of agents are what their executions say',
    totals: 'Totals of the index are what its entries say',
    vaults: 'Escrows and collateral hold what they must',
    lists: 'Lists of executions are complete',
    digest: 'The digest is the one of these accounts',
};

type Members = Record<string, unknown>;
const isMembers = (value: unknown): value is Members =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** `null` if there was no audit. */
export function readAudit(report: unknown): AuditReport | null {
    if (!isMembers(report)) return null;
    const checks = isMembers(report['checks']) ? report['checks'] : {};
    return {
        isOk: report['ok'] === true,
        isComplete: report['complete'] === true,
        at: Number.isNaN(Date.parse(text(report['at']) ?? '')) ? null : text(report['at']),
        slot: count(report['slot']),
        source: text(report['source']) ?? '',
        witness: text(report['witness']),
        checks: Object.entries(checks).flatMap(([name, check]) =>
            isMembers(check)
                ? [
                      {
                          name: CHECKS[name] ?? name,
                          compared: count(check['compared']),
                          faults: count(check['faults']),
                          unproven: count(check['unproven']),
                          isComplete: check['complete'] !== false,
                      },
                  ]
                : [],
        ),
        faults: Array.isArray(report['faults'])
            ? report['faults'].flatMap((fault) =>
                  isMembers(fault) ? [`${text(fault['place']) ?? ''}: ${text(fault['message']) ?? ''}`] : [],
              )
            : [],
    };
}
