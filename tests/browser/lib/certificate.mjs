// Makes a self-signed certificate for a test's own servers (RFC 5280).
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/**
 * A value in DER: its tag, its length and its contents.
 *
 * @param {number} tag
 * @param {Uint8Array[]} parts
 */
function der(tag, ...parts) {
    const { length } = Buffer.concat(parts);
    const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.from([tag, ...size]), ...parts]);
}

const sequence = (...parts) => der(0x30, ...parts);
const hex = (digits) => Buffer.from(digits, 'hex');
const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'));
const time = (date) => der(0x17, Buffer.from(date.toISOString().replace(/^..|[-:T]|\.\d+/g, '')));

/**
 * Makes a key and a certificate for these hosts, valid for a month from yesterday on.
 *
 * @param {string[]} hosts
 */
export function certificateFor(hosts) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const name = sequence(der(0x31, sequence(hex('0603550403'), der(0x0c, Buffer.from('a test of the page')))));
    const day = 864e5, now = Date.now();
    const names = der(0x04, sequence(...hosts.map((host) => der(0x82, Buffer.from(host)))));
    const body = sequence(
        der(0xa0, hex('020102')),
        der(0x02, Buffer.concat([hex('01'), randomBytes(8)])),
        ecdsaWithSha256, name, sequence(time(new Date(now - day)), time(new Date(now + 30 * day))), name,
        publicKey.export({ type: 'spki', format: 'der' }),
        der(0xa3, sequence(sequence(hex('0603551d11'), names))),
    );
    const signature = sign('sha256', body, privateKey);
    const cert = sequence(body, ecdsaWithSha256, der(0x03, hex('00'), signature));
    return {
        key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
        cert: `-----BEGIN CERTIFICATE-----\n${cert.toString('base64').match(/.{1,64}/g)?.join('\n')}\n-----END CERTIFICATE-----\n`,
    };
}
