import Videos from '#idl/Videos.cjs';
import { run } from '#chassis/run.js';
import { Handler } from './handler.js';

await run('videos', Videos.Processor, (service) => {
  const cache = service.cache('movies');
  const store = service.store('movies');
  return (context) => new Handler(service, context, cache, store);
});
