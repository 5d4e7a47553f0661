package git

import (
	"bufio"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
)

// TestOnlyWhatAServerOffersIsAsked has the capabilities of servers as git's versions and hosts
// send them (recorded 2026-11). One that is asked for a word that it does not know ends.
func TestOnlyWhatAServerOffersIsAsked(t *testing.T) {
	for name, test := range map[string]struct {
		lines  []string
		format bool
	}{
		"git 2.18 (RHEL 8)":       {[]string{"version 2", "agent=git/2.18.4", "ls-refs", "fetch=shallow", "server-option"}, false},
		"git 2.25 (Ubuntu 20.04)": {[]string{"version 2", "agent=git/2.25.1", "ls-refs", "fetch=shallow", "server-option"}, false},
		"git 2.28":                {[]string{"version 2", "agent=git/2.28.0", "ls-refs", "fetch=shallow", "server-option", "object-format=sha1"}, true},
		"git 2.39":                {[]string{"version 2", "agent=git/2.39.5", "ls-refs=unborn", "fetch=shallow wait-for-done", "server-option", "object-format=sha1", "object-info"}, true},
		"git 2.45, sha256":        {[]string{"version 2", "agent=git/2.45.2", "ls-refs=unborn", "fetch=shallow wait-for-done", "server-option", "object-format=sha256"}, true},
		"GitHub":                  {[]string{"version 2", "agent=git/github-5c9ab9f3d0b1", "ls-refs=unborn", "fetch=shallow wait-for-done filter", "server-option", "object-format=sha1"}, true},
		"GitLab":                  {[]string{"version 2", "agent=git/2.47.1.gl1", "ls-refs=unborn", "fetch=shallow wait-for-done filter", "server-option", "object-format=sha1", "bundle-uri"}, true},
		"Bitbucket Cloud":         {[]string{"version 2", "agent=git/2.40.0", "ls-refs=unborn", "fetch=shallow wait-for-done filter", "server-option", "object-format=sha1"}, true},
		"Gerrit (JGit)":           {[]string{"version 2", "ls-refs", "fetch=shallow", "server-option"}, false},
		"Gitea":                   {[]string{"version 2", "agent=git/2.43.0", "ls-refs=unborn", "fetch=shallow wait-for-done", "server-option", "object-format=sha1", "object-info"}, true},
		"CodeCommit":              {[]string{"version 2", "agent=git/2.25.1", "ls-refs", "fetch=shallow"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for _, line := range test.lines {
				writePacket(&text, "%s", line)
			}
			text.WriteString("0000")
			a, err := readAdvertisement(bufio.NewReader(strings.NewReader(text.String())), gitref.AllPrefixes, nil)
			if err != nil || !a.version2 || !a.lsRefs {
				t.Fatalf("%+v, %v", a, err)
			}
			if asked := strings.Contains(a.lsRefsRequest(gitref.AllPrefixes), "object-format="); asked != test.format {
				t.Errorf("a format is asked for: %v", asked)
			}
		})
	}
}

// TestPathsOverSSHAreAsGitSendsThem compares with what git clone sends for the same text.
func TestPathsOverSSHAreAsGitSendsThem(t *testing.T) {
	for raw, want := range map[string]string{
		"git@git.example.com:team/shop.git":        "team/shop.git",
		"git@git.example.com:/srv/git/shop.git":    "/srv/git/shop.git",
		"git@git.example.com:~ann/shop.git":        "~ann/shop.git",
		"git@[2001:db8::1]:team/shop.git":          "team/shop.git",
		"ssh://git@git.example.com/team/shop.git":  "/team/shop.git",
		"ssh://git@git.example.com/~ann/shop.git":  "~ann/shop.git",
		"ssh://git@git.example.com:2222/team/shop": "/team/shop",
	} {
		loc, _, _, err := ParseURL(raw, false)
		if err != nil {
			t.Fatal(err)
		}
		if path, err := sshPath(loc); err != nil || path != want {
			t.Errorf("%s: %q, %v; want %q", raw, path, err, want)
		}
	}
}
