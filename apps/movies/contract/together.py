"""The same by several threads at once."""

import threading


def together(number: int, what) -> list:
    """Results of `what(place)`, from so many threads at once; the first exception is raised."""
    results, errors, barrier = [None] * number, [], threading.Barrier(number)

    def one(place):
        try:
            barrier.wait(10)
            results[place] = what(place)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
