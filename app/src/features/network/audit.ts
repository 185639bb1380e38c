// The report of the last audit, as the service stores it. The API describes it only as an object, so every member is
// checked before it is shown.

import { words } from './words';

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
                          name: words.audit.names[name] ?? name,
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
