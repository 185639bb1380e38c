// When something that was announced takes effect. The program applies an announcement in the week after its delay, and
// never later ("Role changes" and "Parameter changes" in docs/specification.md).

export const ROLES_DELAY_S = 16 * 86_400;
export const PARAMETERS_DELAY_S = 7 * 86_400;
/** How long an announcement that is due can be applied. */
export const ANNOUNCEMENT_LIFE_S = 7 * 86_400;

export type AnnouncementState = 'none' | 'waiting' | 'due' | 'lapsed';

/** `applyFrom`: 0 without an announcement. Both are seconds by the chain's clock. */
export function announcementState(applyFrom: number, now: number): AnnouncementState {
    if (applyFrom === 0) return 'none';
    if (now < applyFrom) return 'waiting';
    return now <= applyFrom + ANNOUNCEMENT_LIFE_S ? 'due' : 'lapsed';
}
