// The webhooks that hear of one agent, loaded when they are shown.

import { lazy } from 'react';

import { part } from '../../shared/part';

export const LazyAgentWebhooks = lazy(() => part(() => import('./Webhooks')));
