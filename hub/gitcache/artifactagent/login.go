package artifactagent

import (
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// httpAuth is what requests to a chart repository carry; nil is nothing.
func httpAuth(r record.Repository, c record.Credentials, _ *wire.Client) (wire.Auth, error) {
	switch r.Auth {
	case record.AuthNone:
		return nil, nil
	case record.AuthBasic, record.AuthToken:
		return wire.Basic{Username: c.Username, Password: c.Password}, nil
	case record.AuthBearer:
		return wire.Bearer(c.Password), nil
	}
	return nil, errcode.New(errcode.Invalid, "authentication %q is not known for repositories of type %s", r.Auth, r.Kind)
}
