// How the cover that a creator promises is said: free collateral for a number of calls.

import { plural } from './figures';
import { words } from './words';

export const promiseText = (minCover: number): string => (minCover === 0 ? words.noCover : plural(minCover, 'call'));
