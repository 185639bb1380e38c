import { agent } from '@crtx/sdk';
import { keyFile, serve } from '@crtx/sdk/node';

import { profileCsv } from './csv-profile.js';

const key = process.env.RESULT_KEY ?? keyFile('result-key.json');
await serve(agent(profileCsv, { key }), { port: Number(process.env.PORT ?? 8090) });
