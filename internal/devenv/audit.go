package devenv

import (
	"encoding/json"
	"time"
)

// AuditEvent is one request that the API server handled, as its audit log has it. Requests of the cluster's own
// parts (the API server's to itself, controllers, scheduler, hollow node) and of its health checks are not in the log.
type AuditEvent struct {
	// ID is the request's audit ID; the API server also returns it as the header Audit-Id.
	ID string
	// User is who the request was made as: the impersonated user where there is one. Groups are that user's groups.
	User   string
	Groups []string
	// Authenticated is whose credentials the request carried. It differs from User when the request impersonated.
	Authenticated string
	// Verb is Kubernetes' verb in lower case, such as "get", "list", "watch", "patch", "deletecollection".
	Verb string
	// Group, Resource and Subresource name the kind of object in plural form; empty for paths such as /version.
	Group, Resource, Subresource string
	// Namespace and Name are the object's, as far as the request named them.
	Namespace, Name string
	// RequestURI is the path with its query as the client sent it.
	RequestURI string
	// UserAgent is the client's own name for itself.
	UserAgent string
	// Code is the HTTP status of the answer. For a watch that is still open it is the one it was opened with.
	Code int
	// Request is the body of a write (create, update, patch, delete) as JSON, except for those of Secrets and tokens,
	// which the log leaves out. A delete's body is its DeleteOptions.
	Request json.RawMessage
	// Received is when the API server got the request, by its clock.
	Received time.Time
}

// Preconditions are the UID and resource version that a delete demanded, each empty where it demanded none.
// The body of a deletecollection has no use for them.
func (e AuditEvent) Preconditions() (uid, resourceVersion string) {
	var options struct {
		Preconditions struct {
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"preconditions"`
	}
	if len(e.Request) == 0 || json.Unmarshal(e.Request, &options) != nil {
		return "", ""
	}
	return options.Preconditions.UID, options.Preconditions.ResourceVersion
}

// auditLine is what is read of a line of the log, which is an audit.k8s.io/v1 Event.
type auditLine struct {
	AuditID          string          `json:"auditID"`
	Stage            string          `json:"stage"`
	RequestURI       string          `json:"requestURI"`
	Verb             string          `json:"verb"`
	User             auditUser       `json:"user"`
	ImpersonatedUser *auditUser      `json:"impersonatedUser"`
	UserAgent        string          `json:"userAgent"`
	ObjectRef        *auditObjectRef `json:"objectRef"`
	ResponseStatus   *auditStatus    `json:"responseStatus"`
	RequestObject    json.RawMessage `json:"requestObject"`
	ReceivedAt       time.Time       `json:"requestReceivedTimestamp"`
}

type auditUser struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

type auditObjectRef struct {
	Resource    string `json:"resource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	APIGroup    string `json:"apiGroup"`
	Subresource string `json:"subresource"`
}

type auditStatus struct {
	Code int `json:"code"`
}

// stageReceived is the stage of a request's first line, which is written before the request is handled. Whatever line
// follows (ResponseStarted of a watch, ResponseComplete, Panic) says how it went.
const stageReceived = "RequestReceived"

func (l auditLine) event() AuditEvent {
	e := AuditEvent{
		ID:            l.AuditID,
		User:          l.User.Username,
		Groups:        l.User.Groups,
		Authenticated: l.User.Username,
		Verb:          l.Verb,
		RequestURI:    l.RequestURI,
		UserAgent:     l.UserAgent,
		Request:       l.RequestObject,
		Received:      l.ReceivedAt,
	}
	if u := l.ImpersonatedUser; u != nil {
		e.User, e.Groups = u.Username, u.Groups
	}
	if o := l.ObjectRef; o != nil {
		e.Group, e.Resource, e.Subresource, e.Namespace, e.Name = o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name
	}
	e.Code = l.code()
	return e
}

func (l auditLine) code() int {
	if l.ResponseStatus == nil {
		return 0
	}
	return l.ResponseStatus.Code
}
