"""What the peers' scripts share: rates of epochs and the processor time of an image."""
import json
import resource
import time

BATCH, SIZE = 32, 300
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def cpu_seconds():
    """User and system time of this process and of children that ended."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure(epoch, epochs):
    """Calls epoch(), which returns its images, and prints a JSON line. What it starts must have ended when it returns, or be its own threads."""
    times, images = [], 0
    cpu = cpu_seconds()
    for _ in range(epochs):
        begin = time.perf_counter()
        count = epoch()
        times.append(time.perf_counter() - begin)
        images += count
    cpu = cpu_seconds() - cpu
    print(json.dumps({"images": count, "first_img_s": round(count / times[0]), "best_img_s": round(count / min(times)),
                      "median_img_s": round(count / sorted(times)[len(times) // 2]),
                      "cpu_us_per_image": round(cpu * 1e6 / images, 2)}))
