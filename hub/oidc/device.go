package oidc

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// deviceLifetime is how long a device waits, devicePause how long it pauses between polls.
	deviceLifetime, devicePause = 10 * time.Minute, 5 * time.Second
	// maxDevices are the devices of one client that wait.
	maxDevices = 2000
	devicePath = Path + "/device"
)

// Device is a device that waits for a person to type its code.
type Device struct {
	Hash     []byte
	UserCode string
	ClientID string
	Scopes   []string
	// GrantID is set once somebody allowed it, Denied if they did not.
	GrantID              string
	Denied               bool
	PolledAt             int64
	CreatedAt, ExpiresAt int64
}

// DeviceStore stores devices that wait.
type DeviceStore interface {
	// InsertWaiting adds a device; Conflict when its code is taken, Exhausted when so many of its client wait.
	InsertWaiting(ctx context.Context, d Device, limit int) error
	// Waiting returns a device by the hash of its code, or NotFound.
	Waiting(ctx context.Context, hash []byte) (Device, error)
	// WaitingByCode returns a device by the code that people type, or NotFound.
	WaitingByCode(ctx context.Context, code string) (Device, error)
	// AnswerWaiting writes the answer, and reports whether there was none yet.
	AnswerWaiting(ctx context.Context, d Device) (bool, error)
	// PollWaiting writes when a device asked, and reports whether it waited since before.
	PollWaiting(ctx context.Context, hash []byte, now, before int64) (bool, error)
	// TakeWaiting deletes a device, and reports whether it was there.
	TakeWaiting(ctx context.Context, hash []byte) (bool, error)
}

var errDevice = oidc.ErrInvalidGrant().WithDescription("the device code is not valid")

// StoreDeviceAuthorization implements op.DeviceAuthorizationStorage.
func (s *storage) StoreDeviceAuthorization(ctx context.Context, clientID, deviceCode, userCode string, _ time.Time, asked []string) error {
	now := s.now()
	d := Device{Hash: hashOf(deviceCode), UserCode: userCode, ClientID: clientID, Scopes: known(asked), CreatedAt: now, ExpiresAt: after(now, deviceLifetime)}
	err := s.config.Stores.Writer.Write(ctx, func(ctx context.Context) error { return s.config.Stores.Devices.InsertWaiting(ctx, d, maxDevices) })
	if errcode.Is(err, errcode.Exhausted) {
		return &oidc.Error{ErrorType: "temporarily_unavailable", Description: errcode.Message(err)}
	}
	if err != nil {
		return s.told(err)
	}
	return nil
}

// GetDeviceAuthorizatonState implements op.DeviceAuthorizationStorage: Provider.poll has taken the device.
func (s *storage) GetDeviceAuthorizatonState(ctx context.Context, _, _ string) (*op.DeviceAuthorizationState, error) {
	g := flight(ctx).grant
	if g.ID == "" {
		return nil, errDevice
	}
	return &op.DeviceAuthorizationState{ClientID: g.ClientID, Scopes: g.Scopes, Subject: g.UserID, AMR: g.Methods, AuthTime: clock.FromMicros(g.AuthAt), Expires: clock.FromMicros(g.EndsAt), Done: true}, nil
}

// startDevice begins a login of a device.
func (p *Provider) startDevice(w http.ResponseWriter, r *http.Request) {
	if err := p.rates.devices.Take(pool.Stranger(r.RemoteAddr)); err != nil {
		busy(w, err)
		return
	}
	if !slices.Contains(strings.Fields(r.PostForm.Get("scope")), oidc.ScopeOpenID) {
		p.sayNo(w, oidc.ErrInvalidScope().WithDescription("the scope openid is missing"))
		return
	}
	op.DeviceAuthorizationHandler(p)(w, r)
}

// poll returns the grant of a device whose person allowed it, once.
func (p *Provider) poll(ctx context.Context, c application.Client, code string) (g Grant, err error) {
	store := p.config.Stores.Devices
	err = p.config.Stores.Writer.Write(ctx, func(ctx context.Context) error {
		g = Grant{}
		d, err := store.Waiting(ctx, hashOf(code))
		if errcode.Is(err, errcode.NotFound) || err == nil && d.ClientID != c.ID {
			return errDevice
		}
		if err != nil || d.GrantID == "" {
			return err
		}
		taken, err := store.TakeWaiting(ctx, d.Hash)
		if err == nil && !taken {
			return errDevice
		}
		if err == nil {
			g, err = p.config.Stores.Grants.Grant(ctx, d.GrantID)
		}
		return err
	})
	if err != nil || g.ID != "" {
		return g, err
	}
	return g, p.unanswered(ctx, code)
}

// unanswered is the error for a device whose person has not allowed it.
func (p *Provider) unanswered(ctx context.Context, code string) error {
	store, now := p.config.Stores.Devices, p.now()
	d, err := store.Waiting(ctx, hashOf(code))
	switch {
	case errcode.Is(err, errcode.NotFound):
		return errDevice
	case err != nil:
		return err
	case d.Denied:
		return oidc.ErrAccessDenied()
	case d.ExpiresAt <= now:
		return oidc.ErrExpiredDeviceCode()
	}
	var waited bool
	err = p.config.Stores.Writer.Write(ctx, func(ctx context.Context) (err error) {
		// A second earlier than asked for is no hurry: clocks and networks are not exact.
		waited, err = store.PollWaiting(ctx, d.Hash, now, now-(devicePause-time.Second).Microseconds())
		return err
	})
	if err == nil && !waited {
		return oidc.ErrSlowDown()
	}
	if err == nil {
		err = oidc.ErrAuthorizationPending()
	}
	return err
}

// visitor returns the person who is logged in. Without one it sends the login page, which leads
// back to the request, and ok is false.
func (p *Provider) visitor(w http.ResponseWriter, r *http.Request) (v login.Visitor, ok bool, err error) {
	v, ok, err = p.config.Pages.Visitor(r)
	if err == nil && !ok {
		p.config.Pages.LogIn(w, r, r.URL.RequestURI())
	}
	return v, ok, err
}

// showDevice is the page on which people type the code of a device.
func (p *Provider) showDevice(w http.ResponseWriter, r *http.Request) error {
	v, ok, err := p.visitor(w, r)
	if err != nil || !ok {
		return err
	}
	code := r.URL.Query().Get("user_code")
	if code == "" {
		p.config.Pages.AskCode(w, r, http.StatusOK, devicePath, "")
		return nil
	}
	d, c, err := p.typed(r.Context(), v, code)
	if errcode.Is(err, errcode.NotFound) {
		p.config.Pages.AskCode(w, r, http.StatusNotFound, devicePath, errcode.Message(err))
		return nil
	}
	if err == nil {
		err = p.mayUse(r.Context(), c, v, d.Scopes)
	}
	if err != nil {
		return err
	}
	p.config.Pages.AskConsent(w, r, login.Consent{
		Application: c.Title, Device: true, Gets: gets(d.Scopes), Action: devicePath + "/answer", Fields: map[string]string{"user_code": d.UserCode}, To: p.issuer,
	})
	return nil
}

// typed returns the device of a code that a person typed. Guesses count.
func (p *Provider) typed(ctx context.Context, v login.Visitor, code string) (d Device, c application.Client, err error) {
	if err := p.rates.wrong.Take(pool.Caller{Name: v.ID}); err != nil {
		return d, c, err
	}
	letters := strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(code, "-", ""), " ", ""))
	if len(letters) == 8 {
		letters = letters[:4] + "-" + letters[4:]
	}
	d, err = p.config.Stores.Devices.WaitingByCode(ctx, letters)
	if err == nil && (d.ExpiresAt <= p.now() || d.GrantID != "" || d.Denied) {
		err = errcode.New(errcode.NotFound, "no login is waiting for this code")
	}
	if err == nil {
		c, err = p.config.Clients.Client(ctx, d.ClientID)
	}
	return d, c, err
}

// answerDevice takes a person's answer for a device.
func (p *Provider) answerDevice(w http.ResponseWriter, r *http.Request) error {
	v, ok, err := p.config.Pages.Visitor(r)
	if err == nil && !ok {
		err = errcode.New(errcode.Unauthorized, "the session has ended; log in again")
	}
	if err != nil {
		return err
	}
	d, c, err := p.typed(r.Context(), v, r.PostFormValue("user_code"))
	if err == nil {
		err = p.mayUse(r.Context(), c, v, d.Scopes)
	}
	if err != nil {
		return err
	}
	d.Denied = r.PostFormValue("answer") != "allow"
	g := p.grantFor(c, v, d.Scopes)
	g.CreatedAt, g.EndsAt = p.now(), after(d.ExpiresAt, codeLifetime)
	err = p.config.Stores.Writer.Write(r.Context(), func(ctx context.Context) error {
		if !d.Denied {
			d.GrantID = g.ID
			if err := p.config.Stores.Grants.InsertGrant(ctx, g); err != nil {
				return err
			}
			if err := p.config.Stores.Consents.LoggedIn(ctx, v.ID, c.ID, g.CreatedAt); err != nil {
				return err
			}
		}
		first, err := p.config.Stores.Devices.AnswerWaiting(ctx, d)
		if err == nil && !first {
			err = errcode.New(errcode.Conflict, "the device was answered already")
		}
		return err
	})
	if err != nil {
		return err
	}
	if d.Denied {
		p.record(r, c, v, "denied", "")
		p.config.Pages.Tell(w, r, "Done", "The device was refused. If you did not begin it, somebody wanted you to: do not type codes that others send you.")
		return nil
	}
	p.record(r, c, v, audit.ResultOK, "")
	p.config.Pages.Tell(w, r, "Done", "The device is logged in to "+c.Title+" as "+v.Name+". You may close this page.")
	return nil
}
