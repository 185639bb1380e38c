// What plots say.

export const words = {
    days: (count: number) => `${count} days`,
    shown: 'Days shown',
    measure: 'Show',
    compare: (count: number) => `Compare with the ${count} days before`,
    before: (count: number) => `${count} days before`,
    choose: (title: string) => `${title}. Choose a day with the arrow keys`,
    table: 'As a table',
    day: 'Day (UTC)',
    completed: 'Completed',
    failed: 'Failed',
    ofDay: (name: string, value: string) => `${name}: ${value}`,
} as const;
