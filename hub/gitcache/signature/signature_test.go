package signature_test

import (
	"bytes"
	"crypto/ed25519"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"

	"github.com/axle-cd/axle/hub/gitcache/signature"
	"github.com/axle-cd/axle/internal/errcode"
)

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GNUPGHOME=" + filepath.Join(dir, "gnupg"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (apt-get install git openssh-client): %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// object reads an object as git stores it.
func object(t *testing.T, dir, kind, name string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "cat-file", kind, name)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sshKeygen makes a key and returns its public line.
func sshKeygen(t *testing.T, path, kind string) string {
	t.Helper()
	run(t, filepath.Dir(path), "ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "ada", "-f", path)
	raw, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestSSHSignaturesOfGit has git and ssh-keygen sign commits and tags in both
// object formats, with each kind of key.
func TestSSHSignaturesOfGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, kind := range []string{"ed25519", "rsa", "ecdsa"} {
		public := sshKeygen(t, filepath.Join(dir, kind), kind)
		stranger := sshKeygen(t, filepath.Join(dir, kind+"2"), kind)
		for _, format := range []string{"sha1", "sha256"} {
			repo := filepath.Join(dir, kind+format)
			run(t, dir, "git", "init", "-q", "--object-format="+format, repo)
			signing := []string{"git", "-c", "gpg.format=ssh", "-c", "user.signingkey=" + filepath.Join(dir, kind)}
			run(t, repo, append(signing, "commit", "-q", "-S", "--allow-empty", "-m", "one\n\nwith a body\n gpgsig not a header")...)
			run(t, repo, append(signing, "tag", "-s", "v1", "-m", "a tag")...)
			run(t, repo, "git", "commit", "-q", "--allow-empty", "-m", "unsigned")
			run(t, repo, "git", "tag", "-a", "v2", "-m", "unsigned")
			good, err := signature.ParseKeys(public)
			if err != nil {
				t.Fatal(err)
			}
			allowed, err := signature.ParseKeys("# who may\nada@example.test,bob namespaces=\"git,file\",valid-after=\"20200101\" " + public)
			if err != nil {
				t.Fatal(err)
			}
			other, _ := signature.ParseKeys(stranger)
			files, _ := signature.ParseKeys("* namespaces=\"file\" " + public)
			past, _ := signature.ParseKeys("* valid-before=\"20200101\" " + public)
			for _, o := range []struct{ kind, name string }{{"commit", "HEAD~1"}, {"tag", "v1"}} {
				raw := object(t, repo, o.kind, o.name)
				for name, tt := range map[string]struct {
					keys *signature.Keys
					raw  []byte
					want string
				}{
					"good":          {good, raw, ""},
					"allowed":       {allowed, raw, ""},
					"stranger":      {other, raw, "which is not trusted"},
					"other purpose": {files, raw, "for other uses than git"},
					"too late":      {past, raw, "not trusted at this time"},
					"changed":       {good, bytes.Replace(raw, []byte("a@b"), []byte("e@b"), 1), "signature by the SSH key"},
					"broken":        {good, bytes.Replace(raw, []byte("SSH SIGNATURE"), []byte("SSH SIGNATORE"), 1), "no known kind"},
				} {
					err := tt.keys.Verify(o.kind, tt.raw, format)
					if (err == nil) != (tt.want == "") || err != nil && name != "broken" && !strings.Contains(err.Error(), tt.want) {
						t.Errorf("%s %s %s, %s: %v, want %q", kind, format, o.kind, name, err, tt.want)
					}
				}
			}
			for _, o := range []struct{ kind, name string }{{"commit", "HEAD"}, {"tag", "v2"}} {
				if err := good.Verify(o.kind, object(t, repo, o.kind, o.name), format); err == nil || err.Error() != "it is not signed" {
					t.Errorf("unsigned %s: %v", o.kind, err)
				}
			}
			if format == "sha256" {
				continue
			}
			// A good signature of another document proves nothing.
			signed, plain := object(t, repo, "commit", "HEAD~1"), object(t, repo, "commit", "HEAD")
			header := signed[bytes.Index(signed, []byte("gpgsig ")):bytes.Index(signed, []byte("\n\n"))]
			i := bytes.Index(plain, []byte("\n\n"))
			forged := append(append(bytes.Clone(plain[:i+1]), header...), plain[i:]...)
			if err := good.Verify("commit", forged, format); err == nil || !strings.Contains(err.Error(), "is wrong") {
				t.Errorf("forged: %v", err)
			}
		}
	}
	// What was signed for another purpose is no signature of git.
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("tree x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "ssh-keygen", "-q", "-Y", "sign", "-n", "email", "-f", filepath.Join(dir, "ed25519"), file)
	sig, err := os.ReadFile(file + ".sig")
	if err != nil {
		t.Fatal(err)
	}
	public, _ := os.ReadFile(filepath.Join(dir, "ed25519.pub"))
	keys, _ := signature.ParseKeys(string(public))
	if err := keys.Verify("tag", append([]byte("tree x\n"), sig...), "sha1"); err == nil || !strings.Contains(err.Error(), `signed for "email"`) {
		t.Errorf("other namespace: %v", err)
	}
}

// pgpKey makes an OpenPGP key that is good for a time.
func pgpKey(t *testing.T, made time.Time, life time.Duration) (*openpgp.Entity, string) {
	t.Helper()
	e, err := openpgp.NewEntity("Ada", "", "ada@example.test", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA, KeyLifetimeSecs: uint32(life.Seconds()), Time: func() time.Time { return made }})
	if err != nil {
		t.Fatal(err)
	}
	return e, public(t, e)
}

func public(t *testing.T, e *openpgp.Entity) string {
	t.Helper()
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Serialize(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

// signedCommit signs a commit as git does.
func signedCommit(t *testing.T, e *openpgp.Entity, at time.Time) []byte {
	t.Helper()
	const head, body = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n", "\nmessage\n"
	var sig bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&sig, e, strings.NewReader(head+body), &packet.Config{Time: func() time.Time { return at }}); err != nil {
		t.Fatal(err)
	}
	return []byte(head + "gpgsig " + strings.ReplaceAll(strings.TrimSpace(sig.String()), "\n", "\n ") + "\n" + body)
}

func TestOpenPGP(t *testing.T) {
	t.Parallel()
	now := time.Now()
	good, goodKey := pgpKey(t, now.Add(-time.Hour), 0)
	_, otherKey := pgpKey(t, now.Add(-time.Hour), 0)
	old, oldKey := pgpKey(t, now.Add(-48*time.Hour), 24*time.Hour)
	bad, _ := pgpKey(t, now.Add(-time.Hour), 0)
	badCommit := signedCommit(t, bad, now)
	if err := bad.RevokeKey(packet.KeyCompromised, "lost", nil); err != nil {
		t.Fatal(err)
	}
	badKey := public(t, bad)
	commit := signedCommit(t, good, now)
	for name, tt := range map[string]struct {
		keys []string
		raw  []byte
		want string
	}{
		"good":     {[]string{goodKey}, commit, ""},
		"of two":   {[]string{otherKey + goodKey}, commit, ""},
		"of texts": {[]string{otherKey, goodKey}, commit, ""},
		"stranger": {[]string{otherKey}, commit, "which is not trusted"},
		"changed":  {[]string{goodKey}, bytes.Replace(commit, []byte("message"), []byte("massage"), 1), "is wrong"},
		"expired":  {[]string{oldKey}, signedCommit(t, old, now.Add(-36*time.Hour)), "has expired"},
		"revoked":  {[]string{badKey}, badCommit, "revoked"},
		"empty":    {[]string{goodKey}, commit[:0:0], "not signed"},
		"x509":     {[]string{goodKey}, []byte("tree x\ngpgsig -----BEGIN SIGNED MESSAGE-----\n x\n\nm"), "X.509"},
	} {
		k, err := signature.ParseKeys(tt.keys...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = k.Verify("commit", tt.raw, "sha1")
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if name == "stranger" && !strings.Contains(err.Error(), good.PrimaryKey.KeyIdString()) {
			t.Errorf("%s does not name the key %s: %v", name, good.PrimaryKey.KeyIdString(), err)
		}
	}
}

// TestOpenPGPSignaturesOfGit is the same with the programs that people use.
func TestOpenPGPSignaturesOfGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Fatal("gpg is missing (apt-get install gnupg)")
	}
	// gpg's agent wants a short path for its socket.
	dir, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "gpg-agent")
		kill.Env = append(os.Environ(), "GNUPGHOME="+filepath.Join(dir, "gnupg"))
		_ = kill.Run()
		_ = os.RemoveAll(dir)
	})
	if err := os.Mkdir(filepath.Join(dir, "gnupg"), 0o700); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "gpg", "--batch", "-q", "--passphrase", "", "--quick-gen-key", "ada@example.test", "ed25519", "sign", "never")
	keys, err := signature.ParseKeys(run(t, dir, "gpg", "--batch", "--armor", "--export", "ada@example.test"))
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo")
	run(t, dir, "git", "init", "-q", repo)
	cmd := []string{"git", "-c", "user.signingkey=ada@example.test"}
	for _, args := range [][]string{{"commit", "-q", "-S", "--allow-empty", "-m", "one"}, {"tag", "-s", "v1", "-m", "tag"}} {
		c := exec.CommandContext(t.Context(), "git", append(cmd[1:], args...)...)
		c.Dir, c.Env = repo, append(os.Environ(), "GNUPGHOME="+filepath.Join(dir, "gnupg"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	for _, o := range []struct{ kind, name string }{{"commit", "HEAD"}, {"tag", "v1"}} {
		raw := object(t, repo, o.kind, o.name)
		if err := keys.Verify(o.kind, raw, "sha1"); err != nil {
			t.Errorf("%s: %v", o.kind, err)
		}
		if err := keys.Verify(o.kind, bytes.Replace(raw, []byte("a@b"), []byte("e@b"), 1), "sha1"); err == nil {
			t.Errorf("a changed %s is good", o.kind)
		}
	}
}

func TestKeysThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":     "",
		"words":       "hello world",
		"half a key":  "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nabc",
		"wrong key":   "ada ssh-ed25519 AAAA",
		"an option":   "ada cert-authority ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZyb20gbm90aGluZyBjb21lcyBub3RoaW5nISEh",
		"a bad time":  "ada valid-after=\"soon\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZyb20gbm90aGluZyBjb21lcyBub3RoaW5nISEh",
		"private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
	} {
		if _, err := signature.ParseKeys(text); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzVerify checks that no unsigned bytes pass as signed.
func FuzzVerify(f *testing.F) {
	public, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public())
	if err != nil {
		f.Fatal(err)
	}
	keys, err := signature.ParseKeys(string(ssh.MarshalAuthorizedKey(public)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("commit", []byte("tree x\ngpgsig -----BEGIN SSH SIGNATURE-----\n U1NIU0lH\n -----END SSH SIGNATURE-----\n\nm"))
	f.Add("tag", []byte("object x\n\nm\n-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"))
	f.Add("tag", []byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		for _, format := range []string{"sha1", "sha256"} {
			if keys.Verify(kind, raw, format) == nil {
				t.Fatal("passed")
			}
		}
	})
}
