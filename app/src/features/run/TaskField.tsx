// What the agent should do, in the user's words.

import fields from './form/Form.module.css';
import { words } from './words';

export type TaskFieldProps = { text: string; onChange: (text: string) => void; problem: string | null };

export const TaskField = ({ text, onChange, problem }: TaskFieldProps) => (
    <div className={fields.field}>
        <label htmlFor="task" className={fields.label}>
            {words.task}
        </label>
        <p id="task-about" className="small muted">
            {words.taskHint}
        </p>
        <textarea
            id="task"
            className={fields.input}
            rows={5}
            dir="auto"
            aria-invalid={problem !== null}
            aria-required
            aria-describedby="task-about task-problem"
            value={text}
            onChange={(event) => onChange(event.target.value)}
        />
        <div id="task-problem">{problem !== null && <p className={fields.problem}>{problem}</p>}</div>
    </div>
);
