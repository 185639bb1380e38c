// @vitest-environment happy-dom
// The question before an action that nothing brings back.

import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, test, vi } from 'vitest';

import { Confirm } from '../../src/shared/ui/Confirm';

afterEach(cleanup);

test('what must be acknowledged is not done before the box is ticked', async () => {
    const [onConfirm, onClose] = [vi.fn(), vi.fn()];
    render(
        <Confirm
            question="Delist it?"
            label="Delist"
            isDangerous
            acknowledge="I know"
            onConfirm={onConfirm}
            onClose={onClose}
        >
            <p>It leaves the market.</p>
        </Confirm>,
    );
    await userEvent.click(screen.getByRole('button', { name: 'Delist' }));
    expect(screen.getByRole('status').textContent).toBe('Tick the box first.');
    expect(onConfirm).not.toHaveBeenCalled();
    await userEvent.click(screen.getByRole('checkbox', { name: 'I know' }));
    expect(screen.getByRole('status').textContent).toBe('');
    await userEvent.click(screen.getByRole('button', { name: 'Delist' }));
    expect(onConfirm).toHaveBeenCalledOnce();
    expect(onClose).toHaveBeenCalledOnce();
});
