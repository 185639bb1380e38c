// Buttons, and links that look like one. `primary` once on a screen: the step that leads on. `danger`: what takes
// something away that does not come back by itself.

import type { Ref } from 'react';
import { Button as AriaButton, type ButtonProps as AriaButtonProps } from 'react-aria-components/Button';

import styles from './Button.module.css';

export type Look = 'primary' | 'plain' | 'danger' | 'quiet' | 'text';

export type ButtonProps = AriaButtonProps & { look?: Look; ref?: Ref<HTMLButtonElement> };

export const buttonClass = (look: Look = 'plain'): string => `${styles.button} ${styles[look]}`;

export const Button = ({ look = 'plain', ...props }: ButtonProps) => (
    <AriaButton {...props} className={buttonClass(look)} />
);
