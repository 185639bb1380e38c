// Why a call failed, in words for the creator. A code that this page does not know is shown as it is.

import { words } from './words';

const REASONS: Readonly<Record<string, string>> = words.reasons;

export const reasonText = (code: string): string => (Object.hasOwn(REASONS, code) ? (REASONS[code] ?? code) : code);
