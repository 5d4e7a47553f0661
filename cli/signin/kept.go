package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// Kept is what a login gave.
type Kept struct {
	ID        string    `json:"idToken"`
	Refresh   string    `json:"refreshToken"`
	ExpiresAt time.Time `json:"expiresAt"`
	// Unanswered is set when nobody answered the last browser that was opened. None is opened
	// then: programs that call kubectl all night would open hundreds.
	Unanswered bool `json:"unanswered,omitempty"`
}

func (k Kept) fresh() bool { return time.Until(k.ExpiresAt) > Spare }

// file keeps what one client got of one issuer.
type file struct{ path string }

// file returns that of a party, in a folder of the owner's alone.
func (p Party) file() (file, error) {
	folder, err := os.UserCacheDir()
	if err == nil {
		folder = filepath.Join(folder, "axle", "signin")
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return file{}, errcode.New(errcode.Invalid, "make the folder for tokens: %w", err)
	}
	sum := sha256.Sum256([]byte(p.Issuer + "\x00" + p.ClientID))
	return file{filepath.Join(folder, hex.EncodeToString(sum[:16])+".json")}, nil
}

// read returns what is kept; nothing, or what nobody can read, is the zero value.
func (f file) read() (k Kept, err error) {
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, errcode.New(errcode.Invalid, "read the tokens: %w", err)
	}
	if json.Unmarshal(text, &k) != nil {
		return Kept{}, nil // whoever logs in again replaces it
	}
	return k, nil
}

func (f file) write(k Kept) error {
	text, err := json.Marshal(k)
	if err == nil {
		err = atomicfile.Write(f.path, text, 0o600)
	}
	if err != nil {
		return errcode.New(errcode.Invalid, "keep the tokens: %w", err)
	}
	return nil
}

func (f file) remove() error {
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errcode.New(errcode.Invalid, "remove the tokens: %w", err)
	}
	return nil
}

// lock waits until no other process logs in for the file. The system ends it with the process.
func (f file) lock(ctx context.Context, waits func()) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	defer cancel()
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "lock the tokens: %w", err)
	}
	for tries := 0; ; tries++ {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = lock.Close() }, nil // which unlocks it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(errcode.New(errcode.Invalid, "lock %s: %w", lock.Name(), err), lock.Close())
		}
		if tries == 20 {
			waits()
		}
		if jitter.Wait(ctx, jitter.Add(50*time.Millisecond, 100*time.Millisecond)) != nil {
			return nil, errors.Join(errcode.New(errcode.Unavailable, "another command is logging in since more than %s", browserTimeout), lock.Close())
		}
	}
}
