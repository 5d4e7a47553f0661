// Package webhook receives push notifications from Git servers. It verifies a
// delivery with the webhook's secret, reads which repository and refs it names,
// and requests a fetch of those that the hub follows. It trusts nothing else in
// a delivery: content comes only from the repository's agent.
//
// It does not fetch, does not decide when a fetch begins (the agent's pace
// does) and does not know which replica owns a repository. hub mounts it and
// gives it a kick function that reaches the owner.
//
// Invariants: no byte of a body is parsed before its signature was compared, in
// constant time; a verified delivery that names a followed ref always leads to
// a kick; the same delivery counts once in 10 min, so a replay costs upstream
// nothing; a body is at most 8 MiB and takes at most 10 s, and at most four
// large ones are held at once; the database is queried at most once in 5 s for
// a webhook, however many deliveries claim to belong to it. Wrong guesses never
// lock out the real sender: a guess costs one HMAC and is not counted.
package webhook
