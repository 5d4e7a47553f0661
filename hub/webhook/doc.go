// Package webhook is the edge where Git servers say that something was pushed.
// It verifies a delivery by the webhook's secret, reads which repository and
// refs it names, and asks for a look at those that the hub follows. It believes
// nothing else of a delivery: content comes from the repository's agent alone.
//
// It does not fetch, does not decide when a fetch begins (the agent's pace
// does) and knows no owner of a repository; hub mounts it and hands it a kick
// that reaches the owner.
//
// Invariants: no byte of a body is parsed before its signature was compared, in
// constant time; a verified delivery that names a followed ref always leads to
// a kick; the same delivery counts once in 10 min, so a replay costs upstream
// nothing; a body is at most 8 MiB and takes at most 10 s, four large ones are
// held at once; the database is asked at most once in 5 s for a webhook, however
// many deliveries claim to be its. Nobody is locked out by somebody else's
// wrong guesses: a guess costs one HMAC, and nothing counts it against others.
package webhook
