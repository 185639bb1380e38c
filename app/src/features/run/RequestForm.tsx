// The form of a call: the task, the parameters, and what is wrong with them. The button that sends it can stand
// anywhere on the page.

import { UserText } from '../../shared/text/UserText';
import { Failure } from '../../shared/ui/Failure';
import { Notice } from '../../shared/ui/Notice';
import type { Problem } from './form/draft';
import { ParametersForm } from './form/ParametersForm';
import { TaskField } from './TaskField';
import styles from './Run.module.css';
import type { Request } from './useRequest';
import { words } from './words';

export type RequestFormProps = { id: string; request: Request };

export function RequestForm({ id, request }: RequestFormProps) {
    const { form, written, write, taskProblem, problems, error } = request;
    const { task, parameters } = written;
    return (
        <form id={id} className={styles.inputs} onSubmit={(event) => void request.submit(event)} noValidate>
            <TaskField text={task} onChange={(text) => write({ task: text, parameters })} problem={taskProblem} />
            <ParametersForm
                form={form}
                draft={parameters}
                onChange={(changed) => write({ task, parameters: changed })}
                problems={problems}
            />
            {parameters.as === 'fields' && <Misfits problems={problems} />}
            {error !== null && <Failure error={error} />}
        </form>
    );
}

/** All problems in one place: some belong to no field of the form. */
function Misfits({ problems }: { problems: readonly Problem[] }) {
    if (problems.length === 0) return null;
    return (
        <div role="alert">
            <Notice kind="bad" title={words.misfit}>
                <ul className="stack">
                    {problems.map(({ at, message }) => (
                        <li key={`${at} ${message}`}>
                            {at !== '' && (
                                <>
                                    <UserText text={at.slice(1).replaceAll('/', ' › ').slice(0, 200)} />:{' '}
                                </>
                            )}
                            <UserText text={message} />
                        </li>
                    ))}
                </ul>
            </Notice>
        </div>
    );
}
