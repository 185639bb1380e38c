// Where the creator's service answers, and from where it is called.

import type { Schemas } from '../../../shared/api/client';
import { Copy } from '../../../shared/ui/Copy';
import { TextField } from '../../../shared/ui/Field';
import type { FormProps } from './fields';

export type EndpointProps = FormProps & { network: Schemas['NetworkResponse'] };

export const EndpointSection = ({ fields, set, problems, network }: EndpointProps) => (
    <div className="stack">
        <TextField
            label="Endpoint"
            hint={
                network.network === 'local'
                    ? 'The full URL that answers POST, for example http://127.0.0.1:4021/execute. This local network calls every address.'
                    : 'The full URL that answers POST, for example https://agent.example.com/execute. Only https on port 443 is called.'
            }
            error={problems.endpoint}
            value={fields.endpoint}
            onChange={({ target }) => set({ endpoint: target.value })}
            type="url"
            inputMode="url"
            dir="ltr"
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            required
        />
        <Callers addresses={network.outbound_addresses} />
    </div>
);

/** For the creator's firewall. */
const Callers = ({ addresses }: { addresses: readonly string[] }) =>
    addresses.length === 0 ? (
        <p className="small muted">
            This marketplace publishes no address ranges, so a firewall cannot tell its calls from others.
        </p>
    ) : (
        <div className="row">
            <span className="small muted">Calls come from</span>
            <span className="mono">{addresses.join(', ')}</span>
            <Copy text={addresses.join('\n')} what="addresses" />
        </div>
    );
