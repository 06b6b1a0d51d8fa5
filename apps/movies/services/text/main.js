import ComposeReview from '#idl/ComposeReview.cjs';
import Text from '#idl/Text.cjs';
import { run } from '#chassis/run.js';
import { Handler } from './handler.js';

await run('text', Text.Processor, (service) => {
  const reviews = service.upstream('compose-review', ComposeReview.Client);
  return (context) => new Handler(service, context, reviews);
});
