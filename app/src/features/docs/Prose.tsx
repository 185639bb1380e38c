// A description of the document: paragraphs, and code between backticks. Everything else is text as it stands.

import { visible } from '../../shared/text/visible';

const MAX_PARAGRAPHS = 50;

export const Words = ({ text }: { text: string }) =>
    visible(text)
        .split(/`([^`]+)`/)
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));

export const Prose = ({ text }: { text: string }) =>
    text
        .split(/\n\s*\n/, MAX_PARAGRAPHS)
        .filter((paragraph) => paragraph.trim() !== '')
        .map((paragraph, index) => (
            <p key={index}>
                <Words text={paragraph} />
            </p>
        ));
