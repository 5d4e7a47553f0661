package up

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/confirm"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/errcode"
)

// trailer marks a commit whose tree is a skeleton and nothing else: the base of later
// merges.
const trailer = "Axle-Skeleton"

// login is how to log in to the repository upstream; its flags have the names of those
// of axle repos add.
type login struct {
	username, passwordFile, sshKeyFile, knownHostsFile, caFile string
	// password is that of the cluster's Git server, which is in no file.
	password string
}

// passwordVariable has that password for axle repos, while it runs.
const passwordVariable = "AXLE_UP_GIT_PASSWORD"

// given reports whether there is anything to log in with.
func (l *login) given() bool { return l.passwordFile != "" || l.sshKeyFile != "" }

// flags are those for axle repos add.
func (l *login) flags() (args []string) {
	if l.password != "" {
		args = append(args, "--password-file", "env:"+passwordVariable)
	}
	for _, f := range [][2]string{{"username", l.username}, {"password-file", l.passwordFile}, {"ssh-key-file", l.sshKeyFile}, {"known-hosts-file", l.knownHostsFile}, {"ca-cert-file", l.caFile}} {
		if f[1] != "" {
			args = append(args, "--"+f[0], f[1])
		}
	}
	return args
}

// check refuses what could be read only once, or does not belong together.
func (l *login) check() error {
	switch {
	case l.passwordFile == "-":
		return exitcode.Usagef("--password-file cannot be standard input, because Git and the hub both read it: name a file, or env:NAME")
	case l.sshKeyFile != "" && l.knownHostsFile == "":
		return exitcode.Usagef("--ssh-key-file needs --known-hosts-file: ssh-keyscan HOST > known_hosts, and compare the keys with those that your server publishes")
	case l.passwordFile != "" && l.sshKeyFile != "":
		return exitcode.Usagef("--password-file and --ssh-key-file cannot be given together")
	}
	return nil
}

// env has the login for the git command: settings in variables, which other users of this
// machine cannot read, as they can read arguments.
// The remote is reached at another URL, if that is given.
func (l *login) env(app *command.App, remote, at string) ([]string, error) {
	settings := [][2]string{{"http.followRedirects", "false"}}
	if at != remote {
		// It is this machine, whatever proxy leads elsewhere.
		settings = append(settings, [2]string{"url." + at + ".insteadOf", remote}, [2]string{"http." + at + ".proxy", ""})
	}
	password := l.password
	if l.passwordFile != "" {
		var err error
		if password, err = app.ReadSecret("password-file", l.passwordFile, false); err != nil {
			return nil, err
		}
	}
	if password != "" {
		user := l.username
		if user == "" {
			user = "git"
		}
		settings = append(settings, [2]string{"http." + at + ".extraHeader", "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))})
	}
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	if l.caFile != "" {
		path, err := filepath.Abs(l.caFile)
		if err != nil {
			return nil, err
		}
		env = append(env, "GIT_SSL_CAINFO="+path)
	}
	if l.sshKeyFile == "" {
		return env, nil
	}
	key, err := filepath.Abs(l.sshKeyFile)
	if err != nil {
		return nil, err
	}
	hosts, err := filepath.Abs(l.knownHostsFile)
	if err != nil {
		return nil, err
	}
	return append(env, "GIT_SSH_COMMAND="+confirm.Line([]string{"ssh", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile=" + hosts})), nil
}

// git runs the git command in a folder.
type git struct {
	dir string
	env []string
}

// ofMachine begin the variables of git that describe this machine's way to servers. Others
// could name another repository, as they do in a hook.
var ofMachine = []string{"GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_PROXY"}

// run returns the output, without the line's end. An error has Git's own words.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.feed(ctx, nil, args...)
}

func (g git) feed(ctx context.Context, in []byte, args ...string) (string, error) {
	out, err := g.bytes(ctx, in, args...)
	return strings.TrimSpace(string(out)), err
}

// bytes is the output as it is.
func (g git) bytes(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "git", args...)
	var out, errs bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = g.dir, bytes.NewReader(in), &out, &errs
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || slices.ContainsFunc(ofMachine, func(prefix string) bool { return strings.HasPrefix(v, prefix) }) {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(append(c.Env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"), g.env...)
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errcode.New(errcode.Unavailable, "git %s: %s", args[0], strings.TrimSpace(errs.String()+out.String()))
	}
	return out.Bytes(), nil
}

// is reports whether a question of git has the answer yes.
func (g git) is(ctx context.Context, args ...string) bool {
	_, err := g.run(ctx, args...)
	return err == nil
}

// top reports whether the folder is the top of a repository of its own.
func (g git) top() bool {
	_, err := os.Stat(filepath.Join(g.dir, ".git"))
	return err == nil
}

// base is the newest commit in the history of a revision whose tree is a skeleton, empty
// if there is none.
func (g git) base(ctx context.Context, revision string) string {
	if !g.top() {
		return ""
	}
	id, err := g.run(ctx, "log", "-1", "--format=%H", "--grep", "^"+trailer+": ", revision)
	if err != nil {
		return "" // no commit at all
	}
	return id
}

// tree stores files as a tree of Git, and nothing in the folder or the index.
func (g git) tree(ctx context.Context, files map[string][]byte) (string, error) {
	index, err := os.MkdirTemp("", "axle-up-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(index)
	apart := git{g.dir, append(g.env, "GIT_INDEX_FILE="+filepath.Join(index, "index"))}
	var entries strings.Builder
	for _, name := range names(files) {
		id, err := g.feed(ctx, files[name], "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "100644 %s\t%s\n", id, name)
	}
	if _, err := apart.feed(ctx, []byte(entries.String()), "update-index", "--add", "--index-info"); err != nil {
		return "", err
	}
	return apart.run(ctx, "write-tree")
}

// store stores files as a commit that holds nothing else.
func (g git) store(ctx context.Context, files map[string][]byte, a *answers, parent string) (string, error) {
	tree, err := g.tree(ctx, files)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	text := fmt.Sprintf("axle up: the skeleton of %s\n\nGenerated by axle up; axle up upgrade merges newer ones.\n\n%s: %s\n", a.Version, trailer, a.Version)
	return git{g.dir, identity(a)}.feed(ctx, []byte(text), args...)
}

// identity is whose commits those of axle up are. Hooks of the person who runs it, which may
// want other messages or other files, have no say in them.
func identity(a *answers) []string {
	return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=" + os.DevNull, "GIT_AUTHOR_NAME=axle up", "GIT_AUTHOR_EMAIL=" + a.Email, "GIT_COMMITTER_NAME=axle up", "GIT_COMMITTER_EMAIL=" + a.Email}
}
