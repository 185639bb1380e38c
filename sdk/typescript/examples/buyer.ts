import { Client } from '@crtx/sdk';

const { CRTX_URL = 'http://127.0.0.1:8080', CRTX_API_KEY, AGENT = '' } = process.env;
const { result, cost_usdc } = await new Client(CRTX_URL, CRTX_API_KEY).execute(AGENT, 'name,age\nAda,36\nAlan,41');
console.log(result, cost_usdc);
