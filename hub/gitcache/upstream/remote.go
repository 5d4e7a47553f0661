package upstream

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

// run runs a git command that talks to the server: with its protocol alone,
// through the proxy, its credentials on a pipe.
func (s *Server) run(ctx context.Context, c Command) error {
	c.Env = append(c.Env, "GIT_ALLOW_PROTOCOL="+s.loc.Scheme)
	var done func()
	var err error
	if s.loc.Scheme == "ssh" {
		done, err = s.overSSH(&c)
	} else {
		done, err = s.overHTTP(&c)
	}
	if err != nil {
		return err
	}
	defer done()
	return s.git.config.Runner.Run(ctx, c)
}

func (s *Server) overHTTP(c *Command) (done func(), err error) {
	proxyURL, end := s.git.proxy.admit(s.loc.Address())
	files := &openFiles{}
	done = func() { end(); files.close() }
	config := []string{
		"http.proxy", proxyURL,
		"http.proxyAuthMethod", "basic",
		// The server may move itself, the proxy lets nobody else be reached.
		"http.followRedirects", "initial",
		"http.lowSpeedLimit", "1000",
		"http.lowSpeedTime", "60",
		"http.userAgent", "git/axle",
		// A connection that was used before and is cut without an answer makes
		// curl ask again at once; upstream would see two fetches, not one.
		"http.extraHeader", "Connection: close",
		"credential.helper", "",
		"core.askPass", "/bin/false",
		"protocol.version", "2",
	}
	if s.access.Password != "" {
		fd, err := files.pipe(c, fmt.Sprintf("username=%s\npassword=%s\n", s.access.Username, s.access.Password))
		if err != nil {
			done()
			return nil, err
		}
		// Git asks its helper by the shell; the helper reads the pipe, once.
		config = append(config, "credential."+s.loc.origin()+".helper", fmt.Sprintf(`!f() { test "$1" = get && cat <&%d; }; f`, fd))
	}
	if s.access.CA != "" {
		path, err := files.temp(s.access.CA)
		if err != nil {
			done()
			return nil, err
		}
		config = append(config, "http.sslCAInfo", path)
	} else if ca := os.Getenv("SSL_CERT_FILE"); ca != "" {
		config = append(config, "http.sslCAInfo", ca)
	}
	c.Env = append(c.Env, configEnv(config)...)
	return done, nil
}

// configEnv passes configuration without arguments: the proxy's token is a
// secret of a kind, and arguments are everybody's to read.
func configEnv(pairs []string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, pairs[i+1]))
	}
	return env
}

// openFiles are what one command needs besides its arguments.
type openFiles struct {
	files []*os.File
	temps []string
}

func (o *openFiles) close() {
	for _, f := range o.files {
		_ = f.Close()
	}
	for _, p := range o.temps {
		_ = os.Remove(p)
	}
}

// pipe gives the command a descriptor to read a secret from, and returns its
// number there. A pipe holds far more than a secret, so nothing blocks.
func (o *openFiles) pipe(c *Command, secret string) (int, error) {
	if len(secret) > 32<<10 || strings.ContainsRune(secret, 0) {
		return 0, errcode.New(errcode.Invalid, "the repository's credentials are too long")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	o.files = append(o.files, r)
	if _, err := w.WriteString(secret); err != nil {
		_ = w.Close()
		return 0, err
	}
	c.Files = append(c.Files, r)
	return 2 + len(c.Files), w.Close()
}

// temp writes something public to a file.
func (o *openFiles) temp(text string) (string, error) {
	f, err := os.CreateTemp("", "axle-git-")
	if err != nil {
		return "", err
	}
	o.temps = append(o.temps, f.Name())
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return "", err
	}
	return f.Name(), f.Close()
}

// fetchTimeout bounds one fetch, the first of a big repository included.
const fetchTimeout = 30 * time.Minute

// Fetch brings the objects with the given ids, and all they need, from the
// server into the mirror. It changes no ref. Errors are coded, without secrets.
func (s *Server) Fetch(ctx context.Context, m *Mirror, ids []string) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, id := range ids {
		if !IsID(id) {
			return fmt.Errorf("fetch: %q is no object id", id)
		}
	}
	// By id, git needs no second listing; the ids were listed a moment ago.
	err := s.run(ctx, Command{Dir: m.dir, Env: []string{"GIT_DIR=."}, Stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		Args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--stdin", "--", s.loc.String()}})
	if err != nil {
		return s.explain(err)
	}
	return nil
}
