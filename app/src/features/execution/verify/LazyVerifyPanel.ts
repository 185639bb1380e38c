// The panel that checks the proof, loaded when it is shown.

import { lazy } from 'react';

import { part } from '../../../shared/part';

export const LazyVerifyPanel = lazy(() => part(() => import('./VerifyPanel')));
