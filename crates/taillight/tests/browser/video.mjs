// Opens the page of apps/video and lets it play. WORDS: how many seconds of the video are to be seen.
export default async ({ page, url, words: [seconds = "3"] }) => {
  await page.goto(url);
  // Playback has begun and continues: the displayed time advances, and frames are decoded.
  const state = () => page.evaluate(() => {
    const video = document.getElementById("video");
    const text = (id) => document.getElementById(id).textContent;
    return {
      at: video.currentTime,
      height: video.videoHeight,
      pictures: video.getVideoPlaybackQuality().totalVideoFrames,
      paused: video.paused,
      failed: video.error?.message ?? null,
      about: text("about"),
      player: text("player"),
      startup: text("startup"),
      stalls: text("stalls"),
      buffer: text("buffer"),
      qualities: [...document.getElementById("rung").options].map((option) => option.text),
    };
  });
  const reaches = (least) => page.waitForFunction(
    (least) => document.getElementById("video").currentTime > least || document.getElementById("video").error, least,
  );
  await reaches(0.2);
  const first = await state();
  await reaches(first.at + Number(seconds));
  return { first, last: await state() };
};
