package git

import "testing"

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
