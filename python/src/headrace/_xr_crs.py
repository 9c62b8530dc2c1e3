"""Reference systems of GeoTIFF as WKT. Needs pyproj. SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

_USER_DEFINED = 32767
_METRE, _DEGREE = 9001, 9102
_ORIGIN = (("latitude_of_origin", ("ProjNatOriginLat",), 0),
           ("central_meridian", ("ProjNatOriginLong",), 0),
           ("scale_factor", ("ProjScaleAtNatOrigin",), 1))
_CENTRE = (("latitude_of_center", ("ProjCenterLat", "ProjNatOriginLat"), 0),
           ("longitude_of_center", ("ProjCenterLong", "ProjNatOriginLong"), 0))
_PARALLELS = (("standard_parallel_1", ("ProjStdParallel1",), 0),
              ("standard_parallel_2", ("ProjStdParallel2",), 0))
_FALSE = (("false_easting", ("ProjFalseEasting", "ProjFalseOriginEasting"), 0),
          ("false_northing", ("ProjFalseNorthing", "ProjFalseOriginNorthing"), 0))
_METHODS: dict[Any, tuple[str, tuple[tuple[str, tuple[str, ...], float], ...]]] = {
    # ProjMethod: WKT's name, and its parameters by the keys that may have them
    1: ("Transverse_Mercator", _ORIGIN),
    7: ("Mercator_1SP", _ORIGIN[1:]),
    8: ("Lambert_Conformal_Conic_2SP", (
        ("latitude_of_origin", ("ProjFalseOriginLat", "ProjNatOriginLat"), 0),
        ("central_meridian", ("ProjFalseOriginLong", "ProjNatOriginLong"), 0), *_PARALLELS)),
    9: ("Lambert_Conformal_Conic_1SP", _ORIGIN),
    10: ("Lambert_Azimuthal_Equal_Area", _CENTRE),
    11: ("Albers_Conic_Equal_Area", (*_CENTRE, *_PARALLELS)),
    12: ("Azimuthal_Equidistant", _CENTRE),
    14: ("Stereographic", _ORIGIN),
    15: ("Polar_Stereographic", (
        _ORIGIN[0], ("central_meridian", ("ProjStraightVertPoleLong", "ProjNatOriginLong"), 0),
        _ORIGIN[2])),
    16: ("Oblique_Stereographic", _ORIGIN),
    24: ("Sinusoidal", _CENTRE[1:])}


def _key(keys: Mapping[str, Any], *names: str, absent: Any = None) -> Any:
    return next((keys[f"{n}GeoKey"] for n in names if f"{n}GeoKey" in keys), absent)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _cited(keys: Mapping[str, Any]) -> dict[str, str]:
    """What "GCS Name = …|Datum = …" names."""
    parts = (part.partition(" = ") for part in _key(keys, "GeodeticCitation", absent="").split("|"))
    return {name: value for name, mark, value in parts if mark}


def _ellipsoid(keys: Mapping[str, Any], name: str) -> str | None:
    import pyproj
    a, inverse = _key(keys, "EllipsoidSemiMajorAxis"), _key(keys, "EllipsoidInvFlattening")
    b, code = _key(keys, "EllipsoidSemiMinorAxis"), _key(keys, "Ellipsoid")
    if a is None and code not in (None, _USER_DEFINED):
        known = pyproj.crs.Ellipsoid.from_epsg(code)
        a, inverse = known.semi_major_metre, known.inverse_flattening
    if a is not None and inverse is None and b is not None:
        inverse = a / (a - b) if a != b else 0
    return None if a is None or inverse is None else f"SPHEROID[{_quoted(name)},{a!r},{inverse!r}]"


def _geographic(keys: Mapping[str, Any]) -> str | None:
    import pyproj
    code, datum = _key(keys, "GeodeticCRS"), _key(keys, "GeodeticDatum", absent=_USER_DEFINED)
    if code in (None, _USER_DEFINED) and 6000 < datum < 7000:
        code = datum - 2000  # EPSG's numbers of datums and of the systems on them
    if code not in (None, _USER_DEFINED):
        return str(pyproj.CRS.from_epsg(code).to_wkt("WKT1_GDAL"))
    names = _cited(keys)
    ellipsoid = _ellipsoid(keys, names.get("Ellipsoid", "unnamed"))
    if ellipsoid is None:
        return None
    return (f'GEOGCS[{_quoted(names.get("GCS Name", "unknown"))},DATUM['
            f'{_quoted(names.get("Datum", "unknown"))},{ellipsoid}],PRIMEM["Greenwich",0],'
            'UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]]]')


def _projection(keys: Mapping[str, Any]) -> str | None:
    zone = _key(keys, "Projection", absent=_USER_DEFINED)
    if 16000 < zone <= 16060 or 16100 < zone <= 16160:  # UTM, north and south
        keys = {"ProjNatOriginLongGeoKey": (zone % 100) * 6 - 183,
                "ProjScaleAtNatOriginGeoKey": 0.9996, "ProjFalseEastingGeoKey": 500000,
                "ProjFalseNorthingGeoKey": 0 if zone < 16100 else 10000000, "ProjMethodGeoKey": 1}
    method = _key(keys, "ProjMethod", "ProjCoordTrans")
    if method not in _METHODS:
        return None
    name, parameters = _METHODS[method]
    texts = [f'PARAMETER["{parameter}",{_key(keys, *sources, absent=absent)!r}]'
             for parameter, sources, absent in (*parameters, *_FALSE)]
    return f'PROJECTION["{name}"],' + ",".join(texts)


def _by_parameters(keys: Mapping[str, Any]) -> str | None:
    """In WKT 1, of systems in metres and degrees."""
    if _key(keys, "ProjLinearUnits", absent=_METRE) != _METRE or \
            _key(keys, "GeogAngularUnits", absent=_DEGREE) != _DEGREE or \
            _key(keys, "PrimeMeridianLongitude", absent=0) != 0:
        return None
    cited = _key(keys, "ProjectedCitation", absent="")
    if cited.startswith("ESRI PE String = "):
        return str(cited.removeprefix("ESRI PE String = "))
    geographic = _geographic(keys)
    if geographic is None or _key(keys, "GTModelType") == 2:
        return geographic
    projection = _projection(keys)
    name = _key(keys, "GTCitation", "ProjectedCitation", absent="unnamed")
    parts = [_quoted(name), geographic, str(projection), 'UNIT["metre",1,AUTHORITY["EPSG","9001"]]']
    return None if projection is None else f"PROJCS[{','.join(parts)}]"


@functools.lru_cache(maxsize=64)
def _described(epsg: int | None, keys: str) -> dict[str, Any]:
    code = {} if epsg is None else {"spatial_ref": f"EPSG:{epsg}"}
    try:
        import pyproj
    except ImportError:
        return code
    try:
        text = None if epsg is not None else _by_parameters(json.loads(keys))
        if epsg is None and text is None:
            return {}
        crs = pyproj.CRS.from_epsg(epsg) if text is None else pyproj.CRS.from_wkt(text)
        wkt = crs.to_wkt("WKT1_GDAL", output_axis_rule=True)
        attrs = pyproj.CRS.from_wkt(wkt).to_cf()
    except (pyproj.exceptions.CRSError, TypeError):  # which this PROJ does not know
        return code
    return {**attrs, "spatial_ref": wkt, "crs_wkt": wkt}


def describe(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """What CF says of the reference system of an image, with its WKT; without pyproj the
    code, if it has one. Empty where there is none, or none that can be told."""
    keys = attrs.get("GeoKeys")
    epsg = attrs.get("EPSG")
    return {} if not keys and epsg is None else dict(_described(epsg, json.dumps(keys)))
