// The emergency stop for one agent, loaded when the admin or the guardian looks at the agent.

import { lazy } from 'react';

import { part } from '../../../shared/part';

export const LazySuspendAgent = lazy(() => part(() => import('./SuspendAgent')));
