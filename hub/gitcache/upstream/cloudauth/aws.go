package cloudauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// AWS holds access keys, or none for the hub's own role.
type AWS struct {
	AccessKeyID, SecretAccessKey, SessionToken string
	AssumeRoleARN, Region                      string
	// HubIdentity allows the hub's own role; without it, keys are required.
	HubIdentity bool
	// Endpoint replaces the endpoint of ECR's API.
	Endpoint string
	Client   *wire.Client
	Env      Environment

	keys     cell[aws.Credentials]
	password cell[string]
}

const defaultRegion = "us-east-1"

func (a *AWS) own() bool { return a.AccessKeyID == "" }

// mayLeave refuses to send the hub's own credentials for a repository without
// HubIdentity, or to hosts other than the service's.
func (a *AWS) mayLeave(to *url.URL, service hosts) error {
	if !a.own() {
		return nil
	}
	return a.Env.mayLeave(a.HubIdentity, a.Client, to, service)
}

func (a *AWS) region() string {
	for _, r := range []string{a.Region, a.Env.get("AWS_REGION"), a.Env.get("AWS_DEFAULT_REGION")} {
		if r != "" {
			return r
		}
	}
	return defaultRegion
}

// credentials returns the keys to sign with: those of the assumed role, if
// there is one.
func (a *AWS) credentials(ctx context.Context) (aws.Credentials, error) {
	return a.keys.get(func() (aws.Credentials, time.Time, error) {
		first, until, err := a.first(ctx)
		if err != nil || a.AssumeRoleARN == "" {
			return first, until, err
		}
		return a.assume(ctx, first)
	})
}

// first returns the keys of the repository or of the hub.
func (a *AWS) first(ctx context.Context) (aws.Credentials, time.Time, error) {
	never := time.Now().Add(time.Hour)
	if !a.own() {
		return aws.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey, SessionToken: a.SessionToken}, never, nil
	}
	switch {
	case a.Env.get("AWS_ACCESS_KEY_ID") != "":
		return aws.Credentials{AccessKeyID: a.Env.get("AWS_ACCESS_KEY_ID"), SecretAccessKey: a.Env.get("AWS_SECRET_ACCESS_KEY"),
			SessionToken: a.Env.get("AWS_SESSION_TOKEN")}, never, nil
	case a.Env.get("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		identity, err := a.Env.file("AWS_WEB_IDENTITY_TOKEN_FILE")
		if err != nil {
			return aws.Credentials{}, never, err
		}
		return a.sts(ctx, url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {a.Env.get("AWS_ROLE_ARN")},
			"RoleSessionName": {"axle"}, "WebIdentityToken": {identity}}, nil)
	case a.Env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return a.pod(ctx)
	}
	return aws.Credentials{}, never, errcode.New(errcode.Unauthorized, "the repository has no AWS keys and the hub has no role: neither web identity nor pod identity is set in its environment")
}

// pod asks the agent of EKS Pod Identity.
func (a *AWS) pod(ctx context.Context) (aws.Credentials, time.Time, error) {
	header := http.Header{}
	if a.Env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") != "" {
		text, err := a.Env.file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
		if err != nil {
			return aws.Credentials{}, time.Time{}, err
		}
		header.Set("Authorization", text)
	} else if text := a.Env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"); text != "" {
		header.Set("Authorization", text)
	}
	var said struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	err := local(ctx, a.Env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"), header, &said)
	return aws.Credentials{AccessKeyID: said.AccessKeyID, SecretAccessKey: said.SecretAccessKey, SessionToken: said.Token}, said.Expiration, err
}

func (a *AWS) assume(ctx context.Context, first aws.Credentials) (aws.Credentials, time.Time, error) {
	return a.sts(ctx, url.Values{"Action": {"AssumeRole"}, "RoleArn": {a.AssumeRoleARN}, "RoleSessionName": {"axle"}}, &first)
}

// sts calls the token service, with a signature where there are keys.
func (a *AWS) sts(ctx context.Context, form url.Values, keys *aws.Credentials) (aws.Credentials, time.Time, error) {
	form.Set("Version", "2011-06-15")
	where, err := a.Env.get("AWS_ENDPOINT_URL_STS"), error(nil)
	if where == "" {
		if where, err = serviceURL("sts", a.region()); err != nil {
			return aws.Credentials{}, time.Time{}, err
		}
	}
	request := wire.Request{Method: http.MethodPost, URL: where, Body: form.Encode(), Accept: []int{400, 403},
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
	if keys != nil {
		request.Auth = signer{keys: *keys, service: "sts", region: a.region(), body: request.Body}
	}
	answer, err := a.Client.Do(ctx, request)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxAnswer, "the token service's answer")
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	var said struct {
		Code string  `xml:"Error>Code"`
		Role stsKeys `xml:"AssumeRoleResult>Credentials"`
		Web  stsKeys `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(raw, &said); err != nil || answer.StatusCode != http.StatusOK {
		return aws.Credentials{}, time.Time{}, errcode.New(errcode.Unauthorized, "AWS refuses the role: %s %.100s", answer.Status, said.Code)
	}
	got := said.Role
	if got.ID == "" {
		got = said.Web
	}
	return aws.Credentials{AccessKeyID: got.ID, SecretAccessKey: got.Secret, SessionToken: got.Token}, got.Until, nil
}

type stsKeys struct {
	ID     string    `xml:"AccessKeyId"`
	Secret string    `xml:"SecretAccessKey"`
	Token  string    `xml:"SessionToken"`
	Until  time.Time `xml:"Expiration"`
}

// signer signs one request with its body.
type signer struct {
	keys            aws.Credentials
	service, region string
	body            string
}

// Apply signs a request with AWS Signature Version 4.
func (s signer) Apply(ctx context.Context, r *http.Request) error {
	sum := sha256.Sum256([]byte(s.body))
	hash := hex.EncodeToString(sum[:])
	if s.service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", hash)
	}
	err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.service == "s3" }).
		SignHTTP(ctx, s.keys, r, hash, s.service, s.region, time.Now())
	if err != nil {
		return errcode.Hide(errcode.Internal, err, "the request to AWS cannot be signed")
	}
	return nil
}

// S3 signs requests to a bucket.
func (a *AWS) S3() wire.Auth { return s3auth{a} }

type s3auth struct{ aws *AWS }

// Apply signs a request without a body.
func (s s3auth) Apply(ctx context.Context, r *http.Request) error {
	if err := s.aws.mayLeave(r.URL, awsService("s3")); err != nil {
		return err
	}
	keys, err := s.aws.credentials(ctx)
	if err != nil {
		return err
	}
	return signer{keys: keys, service: "s3", region: s.aws.region()}.Apply(ctx, r)
}

// Registry returns user and password for ECR, which are valid for 12 h.
func (a *AWS) Registry(ctx context.Context, host string) (user, password string, err error) {
	region, known := registryOf(host)
	if !known {
		region = a.region()
	}
	if err := a.mayLeave(&url.URL{Scheme: "https", Host: host}, func(string) bool { return known }); err != nil {
		return "", "", err
	}
	password, err = a.password.get(func() (string, time.Time, error) { return a.ask(ctx, region) })
	return "AWS", password, err
}

// ask calls GetAuthorizationToken.
func (a *AWS) ask(ctx context.Context, region string) (string, time.Time, error) {
	keys, err := a.credentials(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	where := a.Endpoint
	if where == "" {
		if where, err = serviceURL("api.ecr", region); err != nil {
			return "", time.Time{}, err
		}
	} else if u, err := url.Parse(where); err != nil {
		return "", time.Time{}, errcode.New(errcode.Invalid, "the endpoint is not a URL")
	} else if err := a.mayLeave(u, awsService("api.ecr")); err != nil {
		return "", time.Time{}, err
	}
	answer, err := a.Client.Do(ctx, wire.Request{Method: http.MethodPost, URL: where, Body: "{}", Accept: []int{400, 403},
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}},
		Auth:   signer{keys: keys, service: "ecr", region: region, body: "{}"}})
	if err != nil {
		return "", time.Time{}, err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxAnswer, "ECR's answer")
	if err != nil {
		return "", time.Time{}, err
	}
	var said struct {
		Type string `json:"__type"`
		Data []struct {
			Token   string  `json:"authorizationToken"`
			Expires float64 `json:"expiresAt"`
		} `json:"authorizationData"`
	}
	if bounded.JSON(raw, &said, bounded.Most(maxAnswer)) != nil || answer.StatusCode != http.StatusOK || len(said.Data) == 0 {
		return "", time.Time{}, errcode.New(errcode.Unauthorized, "ECR gives no token: %s %.100s", answer.Status, said.Type)
	}
	plain, err := base64.StdEncoding.DecodeString(said.Data[0].Token)
	if err != nil {
		return "", time.Time{}, errcode.New(errcode.Unavailable, "ECR gives a token that cannot be read")
	}
	_, password, _ := strings.Cut(string(plain), ":")
	return password, time.Unix(int64(said.Data[0].Expires), 0), nil
}
