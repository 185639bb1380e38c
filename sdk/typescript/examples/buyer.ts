import { Client } from '@crtx/sdk';

const { result, cost_usdc } = await new Client().execute(process.env.AGENT ?? '', 'name,age\nAda,36\nAlan,41');
console.log(result, cost_usdc);
