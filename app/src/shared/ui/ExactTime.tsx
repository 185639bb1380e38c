// A moment in the reader's own time zone, exact to the second.

export const ExactTime = ({ at }: { at: string | number }) => {
    const date = new Date(typeof at === 'number' ? at * 1_000 : at);
    if (Number.isNaN(date.getTime())) return null;
    return (
        <time className="number" dateTime={date.toISOString()} title={date.toISOString()}>
            {FORMAT.format(date)}
        </time>
    );
};

const FORMAT = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
});
