// What callers read about an agent: name, tagline, description, tags.

import { TextArea, TextField } from '../../../shared/ui/Field';
import { formatCount } from '../../../shared/figures';
import type { Schemas } from '../../../shared/api/client';
import type { FormProps } from './fields';
import { lengthOf } from './rules';
import { TagsField } from './TagsField';
import { words } from '../words';

export type DetailsProps = FormProps & { network: Schemas['NetworkResponse'] };

const ABOUT_DESCRIPTION = words.detailsSection.descriptionHint;

export const DetailsSection = ({ fields, set, problems, network: { limits, tags } }: DetailsProps) => (
    <div className="stack">
        <TextField
            label={words.detailsSection.name}
            hint={counted(words.detailsSection.nameHint, fields.name, limits.max_name_chars)}
            error={problems.name}
            value={fields.name}
            onChange={({ target }) => set({ name: target.value })}
            autoComplete="off"
            required
        />
        <TextField
            label={words.detailsSection.tagline}
            hint={counted(words.detailsSection.taglineHint, fields.tagline, limits.max_tagline_chars)}
            error={problems.tagline}
            value={fields.tagline}
            onChange={({ target }) => set({ tagline: target.value })}
            autoComplete="off"
            required
        />
        <TextArea
            label={words.detailsSection.description}
            hint={counted(ABOUT_DESCRIPTION, fields.description, limits.max_description_chars)}
            error={problems.description}
            value={fields.description}
            onChange={({ target }) => set({ description: target.value })}
            rows={8}
            required
        />
        <TagsField
            chosen={fields.tags}
            standard={tags}
            most={limits.max_tags}
            error={problems.tags}
            onChange={(chosen) => set({ tags: chosen })}
        />
    </div>
);

/** The sentence, and how much of the space is used once it becomes scarce. */
const counted = (sentence: string, text: string, most: number): string => {
    const length = lengthOf(text);
    return length * 2 < most
        ? words.detailsSection.atMost(sentence, formatCount(most))
        : words.detailsSection.used(sentence, formatCount(length), formatCount(most));
};
