// A small plot next to a figure: its shape over some days. The figure says it in words.

import styles from './Sparkline.module.css';

const HEIGHT = 32;
const WIDTH = 4;
const GAP = 1;
const LEAST = 1;

export function Sparkline({ values }: { values: readonly (bigint | null)[] }) {
    const top = values.reduce<bigint>((most, value) => (value !== null && value > most ? value : most), 0n);
    const width = values.length * (WIDTH + GAP) - GAP;
    return (
        <svg className={styles.spark} viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            <rect x={0} y={HEIGHT - LEAST} width={width} height={LEAST} className={styles.ground} />
            {values.map((value, day) => {
                if (value === null || value <= 0n) return null;
                const height = Math.max((Number(value) / Number(top)) * HEIGHT, 2 * LEAST);
                return <rect key={day} x={day * (WIDTH + GAP)} y={HEIGHT - height} width={WIDTH} height={height} />;
            })}
        </svg>
    );
}
