// Says that the words of tasks in the list are kept in this browser alone, and removes them.

import { Button } from '../../shared/ui/Button';
import { forgetTasks } from '../../shared/tasks';
import { words } from './words';

export const LocalTasks = ({ account }: { account: string }) => (
    <p className="row small muted">
        {words.tasksKept}
        <Button look="text" onPress={() => forgetTasks(account)}>
            {words.removeTasks}
        </Button>
    </p>
);
