// Prints how many tokens of o200k_base the text of a file has: `node count.mjs FILE`.
import { readFileSync } from 'node:fs';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

console.log(countTokens(readFileSync(process.argv[2], 'utf8')));
