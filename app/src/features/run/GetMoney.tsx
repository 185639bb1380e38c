// A button that funds a wallet of the local network.

import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import type { Schemas } from '../../shared/api/client';
import { part } from '../../shared/part';
import { Button } from '../../shared/ui/Button';
import { messageOf } from '../../shared/ui/Failure';
import { balancesKey } from '../../shared/wallet/balances';
import { words } from './words';

export type GetMoneyProps = { address: string; network: Schemas['NetworkResponse'] };

export function GetMoney({ address, network }: GetMoneyProps) {
    const queries = useQueryClient();
    const [state, setState] = useState<{ isBusy: boolean; problem: string | null }>({ isBusy: false, problem: null });
    const get = async (): Promise<void> => {
        if (state.isBusy) return;
        setState({ isBusy: true, problem: null });
        try {
            const { fund } = await part(() => import('../../shared/wallet/local/fund'));
            await fund(address, network);
            await queries.invalidateQueries({ queryKey: balancesKey(address) });
            setState({ isBusy: false, problem: null });
        } catch (error) {
            setState({ isBusy: false, problem: messageOf(error) });
        }
    };
    return (
        <>
            <Button onPress={() => void get()}>{state.isBusy ? words.sending : words.getMoney}</Button>
            {state.problem !== null && <p role="alert">{state.problem}</p>}
        </>
    );
}
