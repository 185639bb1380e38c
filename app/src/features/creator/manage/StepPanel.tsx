// One part of the page that manages an agent: its heading, its content, and how its last transaction went.

import type { ReactNode } from 'react';

import { Button, type Look } from '../../../shared/ui/Button';
import { Panel } from '../../../shared/ui/Panel';
import { TransactionState } from '../../wallet';
import type { Managing, Step } from './useManaging';

export type StepPanelProps = { step: Step; title: string; managing: Managing; children: ReactNode };

export const StepPanel = ({ step, title, managing, children }: StepPanelProps) => (
    <Panel title={title}>
        {children}
        {/* Always there, so that what changes in it is announced. */}
        <TransactionState status={managing.step === step ? managing.status : { kind: 'idle' }} done={managing.done} />
    </Panel>
);

export type SendButtonProps = {
    step: Step;
    managing: Managing;
    look?: Look;
    /** Without it, the button submits its form. */
    onPress?: () => void;
    children: ReactNode;
};

/** Waits while any transaction of the page is under way. */
export const SendButton = ({ step, managing, look = 'plain', onPress, children }: SendButtonProps) => (
    <div>
        <Button
            look={look}
            {...(onPress ? { onPress } : { type: 'submit' })}
            isPending={managing.isBusy && managing.step === step}
            isDisabled={managing.isBusy && managing.step !== step}
        >
            {children}
        </Button>
    </div>
);
