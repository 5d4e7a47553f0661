package terraform

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/hashicorp/terraform-plugin-framework/types"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// spare is what an exchanged token must still have, so that a run does not end in the
// middle.
const spare = time.Minute

// exchanged is a token of the hub for a token of an issuer.
type exchanged struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// exchange trades an issuer's token for one of the hub. The hub does so once for each
// token, and Terraform starts the provider several times in a run, so the answer is kept
// in a file that only its owner can read.
func (p *axle) exchange(ctx context.Context, config sdk.Config, workload types.Object) (string, error) {
	file, _ := workload.Attributes()["token_file"].(types.String)
	trust, _ := workload.Attributes()["trust"].(types.String)
	subject, err := os.ReadFile(file.ValueString())
	if err != nil {
		return "", errcode.New(errcode.Invalid, "read the token of the workload: %w", err)
	}
	kept, err := p.keptFor(config.URL, trust.ValueString(), string(subject))
	if err != nil {
		return "", err
	}
	if have, ok := kept.read(); ok {
		return have.Token, nil
	}
	client, err := sdk.New(config)
	if err != nil {
		return "", err
	}
	defer client.Close()
	made, err := client.Federation.Exchange(ctx, connect.NewRequest(&hubv1.ExchangeRequest{SubjectToken: strings.TrimSpace(string(subject)), Trust: trust.ValueString()}))
	if err != nil {
		if have, ok := kept.read(); ok {
			return have.Token, nil // another start of the provider was faster
		}
		return "", sdk.Error(err, config.URL)
	}
	return made.Msg.GetSecret(), kept.write(exchanged{made.Msg.GetSecret(), time.UnixMicro(made.Msg.GetToken().GetExpiresAt())})
}

// keptFile is where the answer to one exchange is.
type keptFile string

func (p *axle) keptFor(parts ...string) (keptFile, error) {
	dir := p.getenv("XDG_CACHE_HOME")
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			return "", errcode.New(errcode.Invalid, "no folder to keep a token in: %w; set XDG_CACHE_HOME", err)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return keptFile(filepath.Join(dir, "axle", "terraform-"+hex.EncodeToString(sum[:16])+".json")), nil
}

func (k keptFile) read() (e exchanged, ok bool) {
	data, err := os.ReadFile(string(k))
	return e, err == nil && json.Unmarshal(data, &e) == nil && time.Until(e.Expires) > spare
}

func (k keptFile) write(e exchanged) error {
	if err := os.MkdirAll(filepath.Dir(string(k)), 0o700); err != nil {
		return errcode.New(errcode.Invalid, "keep the token: %w", err)
	}
	// Files of former tokens are of no use, and not left lying about.
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(string(k)), "terraform-*.json"))
	for _, path := range old {
		if _, ok := keptFile(path).read(); !ok {
			_ = os.Remove(path)
		}
	}
	data, err := json.Marshal(e)
	return cmp.Or(err, atomicfile.Write(string(k), data, 0o600))
}
