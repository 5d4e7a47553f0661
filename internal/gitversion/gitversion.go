// Package gitversion finds out whether the git on PATH is new enough for the
// hub's mirrors. It runs git once and keeps nothing; the hub calls it when it
// starts.
package gitversion

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// The oldest git that supports what mirrors need: it packs unreachable objects
// separately (pack-objects --cruft).
const (
	minMajor = 2
	minMinor = 37
	minGit   = "git 2.37"
)

var gitVersion = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// Check returns errcode.Invalid if there is no git on PATH, or one that is too old
// for mirrors.
func Check(ctx context.Context) error {
	path, err := exec.LookPath("git")
	if err != nil {
		return errcode.New(errcode.Invalid, "the hub needs %s or newer to follow repositories and finds no git on its PATH; install it on the hub's machine", minGit)
	}
	out, err := exec.CommandContext(ctx, path, "version").Output()
	said := strings.TrimSpace(string(out))
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		said = strings.TrimSpace(said + " " + string(exit.Stderr))
	}
	m := gitVersion.FindStringSubmatch(said)
	if err != nil || m == nil {
		return errcode.New(errcode.Invalid, "the hub needs %s or newer; %s does not report its version: %.200q (%v)", minGit, path, said, err)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < minMajor || major == minMajor && minor < minMinor {
		return errcode.New(errcode.Invalid, "the hub needs %s or newer; %s is %.100q; install a newer one", minGit, path, said)
	}
	return nil
}
