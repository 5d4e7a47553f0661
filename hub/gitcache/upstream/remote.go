package upstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Fetch fetches the objects with the given ids, and all they need, from the
// server into the mirror. It changes no ref. Errors are coded, without secrets.
func (s *Server) Fetch(ctx context.Context, m *Mirror, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, s.git.config.FetchTimeout)
	defer cancel()
	for _, id := range ids {
		if !IsID(id) {
			return fmt.Errorf("fetch: %q is not an object id", id)
		}
	}
	// With ids, git needs no second listing; the ids were listed a moment ago.
	c := Command{Dir: m.Dir(), Env: []string{"GIT_DIR=."}, Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--stdin", "--"}}
	var err error
	if s.loc.Scheme == "ssh" {
		err = s.fetchSSH(ctx, c)
	} else {
		err = s.fetchHTTP(ctx, c)
	}
	if err == nil {
		return nil
	}
	m.dropUnfinished()
	if git := (*GitError)(nil); errors.As(err, &git) {
		m.blame(git)
	}
	return s.explain(ctx, err)
}

// fetchHTTP runs git through the gateway. The gateway's error is better than
// git's.
func (s *Server) fetchHTTP(ctx context.Context, c Command) error {
	c.Conns = &Conns{}
	passage, proxyURL, end := s.git.gateway.admit(s, c.Conns)
	defer end()
	c.Env = append(append(c.Env, "GIT_ALLOW_PROTOCOL=http"), configEnv([]string{
		"http.proxy", proxyURL,
		"http.proxyAuthMethod", "basic",
		"http.followRedirects", "initial",
		"http.lowSpeedLimit", "100",
		"http.lowSpeedTime", fmt.Sprint(max(1, int(s.git.config.StallTimeout.Seconds()))),
		"http.userAgent", "git/axle",
		// Not every server accepts a long request in chunks.
		"http.postBuffer", "33554432",
		// When a reused connection closes without an answer, curl repeats the
		// request at once, and upstream would see two fetches.
		"http.extraHeader", "Connection: close",
		"credential.helper", "",
		"core.askPass", "/bin/false",
		"protocol.version", "2",
	})...)
	c.Args = append(c.Args, s.asGit(s.loc.Path))
	err := s.git.config.Runner.Run(ctx, c)
	if better := passage.reason(); err != nil && better != nil && context.Cause(ctx) == nil {
		return errors.Join(better, err)
	}
	return err
}

// configEnv passes configuration without arguments: the gateway's token is a
// secret, and every user can read arguments.
func configEnv(pairs []string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, pairs[i+1]))
	}
	return env
}
