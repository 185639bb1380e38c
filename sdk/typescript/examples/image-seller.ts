import { agent } from '@crtx/sdk';
import { keyFile, serve } from '@crtx/sdk/node';

import { imageFacts } from './image-facts.js';

const key = process.env.RESULT_KEY ?? keyFile('result-key.json');
await serve(agent(imageFacts, { key }), { port: Number(process.env.PORT ?? 8090) });
